"""`sgcheck fetch`: bring SGLang releases into the cache, or list those that are there."""

from __future__ import annotations

import click

from sgcheck.commands import options
from sgcheck.commands.base import PlainCommand
from sgcheck.commands.output import write
from sgcheck.errors import UsageError

MIB = 1024 * 1024


@click.command(
    cls=PlainCommand,
    help="Bring SGLang releases into the cache. Nothing of them is installed or run.",
    epilog="Example: sgcheck fetch 0.5.9 0.5.23",
)
@click.argument("versions", nargs=-1, metavar="VERSION…")
@click.option("--list", "list_only", is_flag=True, help="List the releases in the cache.")
@click.option("--refresh", is_flag=True, help="Fetch again what is there.")
@click.option("--offline", is_flag=True, help="Never use the network: only look in the cache.")
@options.debug_option()
def fetch(versions: tuple[str, ...], list_only: bool, refresh: bool, offline: bool) -> int:
    """Run the command; the first release that cannot be had ends it."""
    from sgcheck.source import fetch as fetch_release
    from sgcheck.source import list_cached

    if list_only:
        if versions:
            raise UsageError("--list takes no versions: leave one of the two out")
        for release in list_cached():
            write(f"{release.version}  {release.size / MIB:.1f} MiB  {release.path}\n")
        return 0
    if not versions:
        raise UsageError("name the releases to fetch, such as 0.5.23, or say --list")
    if refresh and offline:
        raise UsageError("--refresh needs the network: leave --offline out")
    for version in dict.fromkeys(versions):
        path = fetch_release(version, offline=offline, refresh=refresh)
        write(f"{version}  {path.stat().st_size / MIB:.1f} MiB  {path}\n")
    return 0
