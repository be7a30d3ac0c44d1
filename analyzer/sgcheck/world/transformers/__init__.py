"""A model of transformers: configuration classes, `AutoConfig`, `GenerationConfig`, local files.

Nothing here imports transformers. What differs between releases is recorded in
`sgcheck_rules/data/transformers/`; how attributes follow from each other is in `steps` and
`families`.
"""

from collections.abc import Callable, Mapping

from .errors import NotModelled
from .modules import Library, Names
from .release import FileAccess, Release, RemoteCode, no_remote_code, stand_ins

__all__ = ["FileAccess", "Library", "Names", "NotModelled", "build_modules", "stand_ins"]


def build_modules(
    version: str,
    files: FileAccess,
    *,
    dtype_of: Callable[[str], object],
    is_dtype: Callable[[object], bool],
    remote_code: RemoteCode = no_remote_code,
    lacks_code: Callable[[str], bool] = lambda folder: False,
    get_logger: Callable[[str], object] | None = None,
    stand_in: str | None = None,
) -> Mapping[str, Names | None]:
    """The names that transformers' modules offer, by module; fresh state at every call.

    :param version: the transformers release that the tree pins.
    :param files: the files of the launch, such as the checkpoint's folder.
    :param dtype_of: the modelled torch's attribute of this name; raises `AttributeError`.
        The dtypes must survive `copy.deepcopy` as the same objects, and `str` must give
        `torch.` and the name.
    :param is_dtype: whether a value is one of these dtypes.
    :param remote_code: runs a checkpoint's own configuration module: `(folder, file, class
        name)` to the class. Without it such a checkpoint is not modelled.
    :param lacks_code: whether a checkpoint brings code that its recorded files do not mention:
        what the library would do with it is not modelled.
    :param get_logger: `transformers.utils.logging.get_logger`; by default a silent one.
    :param stand_in: the recorded release whose facts stand for a version that is not recorded.
    :return: None for a module that the release does not have. A name missing from `Names` is
        not modelled if it is in `Names.all_names`, and does not exist otherwise.
    :raises NotModelled: nothing is recorded about the release.
    """
    release = Release(
        version,
        files,
        dtype_of=dtype_of,
        is_dtype=is_dtype,
        remote_code=remote_code,
        lacks_code=lacks_code,
        get_logger=get_logger,
        stand_in=stand_in,
    )
    return Library(release).modules()
