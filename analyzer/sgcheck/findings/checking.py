"""Runs the rules over all launches of a scan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from sgcheck.errors import NothingToAnalyse, SourceError
from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.command import Command, read_command
from sgcheck.findings.diffusion import REASON, is_diffusion
from sgcheck.findings.environment import KnownNames
from sgcheck.findings.flags import FlagTable
from sgcheck.findings.model import Finding, Severity
from sgcheck.findings.readings import Reading, readings
from sgcheck.findings.resolving import Question, Release, Releases, files_of, frozen
from sgcheck.findings.rule import Rule
from sgcheck.findings.settle import From, Settled, Wish, settle
from sgcheck.findings.subject import Subject
from sgcheck.findings.unread.here import FalseTest
from sgcheck.resolve.resolution import Resolution
from sgcheck.scan.model import Launch

Layers = Callable[[str], Sequence[tuple[From, Wish]]]
"""Gives what configuration and options say about a file, the strongest layer first."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One launch after its check. `problem` says why it could not be resolved.

    `no_release` says that it is for want of the release.
    """

    launch: Launch
    settled: Settled
    version: str | None
    resolution: Resolution | None
    findings: tuple[Finding, ...]
    problem: str | None = None
    unread: tuple[str, ...] = ()
    no_release: bool = False


@dataclass(slots=True)
class Checker:
    """Checks launches one after the other; releases and answers are kept between them."""

    rules: Sequence[Rule]
    releases: Releases
    layers: Layers
    _earlier: dict[tuple[str, str], list[Subject]] = field(default_factory=dict)
    _by_file: dict[str, list[Launch]] = field(default_factory=dict)

    def check(
        self,
        launches: Sequence[Launch],
        numbers: Sequence[int] | None = None,
        *,
        settled: Sequence[Settled] | None = None,
        keep: Callable[[Checked], Checked] = lambda checked: checked,
    ) -> list[Checked]:
        """The launches in their order. Those of one release follow each other while they are checked.

        `numbers` are their indices in the report, for findings; by default their places here.
        `settled` is what they are checked with, where that is known; `keep` makes what is returned.

        Raises UsageError for a configuration that names no machine or model.
        """
        self._by_file.clear()
        for launch in launches:
            self._by_file.setdefault(launch.file, []).append(launch)
        if settled is None:
            settled = [settle(launch, self.layers(launch.file)) for launch in launches]
        # A deployment stays together, whatever releases its roles name.
        release_of_file: dict[str, str] = {}
        for launch, facts in zip(launches, settled, strict=True):
            release_of_file.setdefault(launch.file, f"{facts.python or ''} {facts.version or ''}")
        first = {launch.file: number for number, launch in reversed(list(enumerate(launches)))}

        def place(index: int) -> tuple[str, int, int]:
            file = launches[index].file
            return release_of_file[file], first[file], index

        out: dict[int, Checked] = {}
        file = None
        for index in sorted(range(len(launches)), key=place):
            if launches[index].file != file:
                file = launches[index].file
                self._earlier.clear()
            number = numbers[index] if numbers is not None else index
            out[index] = keep(self._check(launches[index], settled[index], number))
        self._earlier.clear()
        return [out[index] for index in range(len(launches))]

    def _check(self, launch: Launch, settled: Settled, index: int) -> Checked:
        release, problem = self._release(settled)
        no_release = problem is not None
        if release is not None and is_diffusion(launch, settled.targets[0], release):
            release, problem = None, REASON
        version = release.tree.version if release is not None else settled.version
        group = self._earlier.setdefault((launch.file, launch.group), [])
        siblings = tuple(group) if launch.group else ()
        neighbours = tuple(each for each in self._by_file[launch.file] if each is not launch)
        first: Subject | None = None
        found: list[tuple[str, list[Finding]]] = []
        samples: list[tuple[str, list[Finding]]] = []
        for reading in readings(launch, settled):
            is_sample = first is not None and reading.target is not first.target
            is_sample = is_sample and not settled.certain
            if is_sample and not _has_error(found):
                break
            subject = self._subject(
                reading, settled, release, version, siblings=siblings, neighbours=neighbours
            )
            if first is None:
                first = subject
                group.append(subject)
            elif is_sample:
                # The other machines are only samples: they confirm or weaken, they add nothing.
                samples.append((reading.condition, self._findings(subject, release, index)))
                continue
            found.append((reading.condition, self._findings(subject, release, index)))
        assert first is not None
        findings = merge(found, samples)
        if not (settled.certain or samples):
            findings = tuple(self._on_one_machine(finding) for finding in findings)
        return Checked(
            launch,
            settled,
            version,
            first.resolution,
            findings,
            problem,
            tuple(use.written for use in first.command.unread),
            no_release,
        )

    def _on_one_machine(self, finding: Finding) -> Finding:
        """A finding of a machine that was only assumed, and of no other: it is not proved."""
        is_resolved = any(r.meta.id == finding.rule and r.meta.needs_resolution for r in self.rules)
        return replace(finding, confidence="likely") if is_resolved else finding

    def _release(self, settled: Settled) -> tuple[Release | None, str | None]:
        try:
            found = self.releases.get(settled.version, settled.python, from_file=settled.from_file)
        except (SourceError, NothingToAnalyse) as error:
            if not (settled.from_file or settled.assumed):
                raise
            return None, str(error)
        return found, None

    def _subject(
        self,
        reading: Reading,
        settled: Settled,
        release: Release | None,
        version: str | None,
        *,
        siblings: tuple[Subject, ...],
        neighbours: tuple[Launch, ...],
    ) -> Subject:
        table = release.table(reading.target) if release is not None else None
        command = read_command(reading.launch.merged_argv(), table)
        subject = Subject(
            reading.launch,
            command,
            settled,
            reading.target,
            table,
            version=version,
            condition=reading.condition,
            siblings=siblings,
            neighbours=neighbours,
        )
        if release is None:
            return subject

        def ask(argv: Sequence[str], files: tuple[tuple[str, bytes], ...] = ()) -> Resolution:
            return release.resolve(_question(reading, settled, tuple(argv), files))

        def names() -> KnownNames:
            return release.known_names()

        def unread() -> frozenset[str]:
            return release.unread_fields(reading.target)

        argv, files = prediction(reading.launch, command, table)
        question = _question(reading, settled, argv, files)
        resolution = (release.follow if settled.follow else release.resolve)(question)

        def why_unread(name: str) -> tuple[FalseTest, ...] | None:
            return release.why_unread(name, resolution)

        return replace(
            subject,
            resolution=resolution,
            why_unread=why_unread,
            known_names=names,
            unread_fields=unread,
            what_if=ask,
        )

    def _findings(self, subject: Subject, release: Release | None, index: int) -> list[Finding]:
        source_line = release.source_line if release is not None else None
        out: list[Finding] = []
        for rule in self.rules:
            if rule.meta.needs_resolution and subject.resolution is None:
                continue
            meta = rule.meta
            builder = FindingBuilder(
                meta.id,
                severity=meta.severity,
                confidence=meta.confidence,
                launch=subject.launch,
                index=index,
                source_line=source_line,
            )
            out.extend(rule.check(subject, builder))
        return out


def prediction(
    launch: Launch, command: Command, table: FlagTable | None
) -> tuple[tuple[str, ...], tuple[tuple[str, bytes], ...]]:
    """The arguments and files to predict with.

    A configuration file that lies in the scanned file is given to SGLang's own merger, unless part of
    it is known only at run time; one that lies elsewhere cannot be read and is left out.
    """
    config = launch.config
    if config is not None:
        words = [word for entry in config.entries for word in entry.words]
        if all(word.text is not None for word in words):
            own = read_command(launch.argv, table)
            use = own.last("--config")
            name = use.value if use is not None else None
            if name is not None:
                return own.prediction_argv(), files_of(name, config.text)
        return command.prediction_argv(), ()
    uses = tuple(use for use in command.uses if use.spelling != "--config")
    return replace(command, uses=uses).prediction_argv(), ()


def _question(
    reading: Reading,
    settled: Settled,
    argv: tuple[str, ...],
    files: tuple[tuple[str, bytes], ...],
) -> Question:
    env = dict(settled.env)
    for name, variable in reading.launch.env.items():
        if variable.value.text is not None:
            env[name] = variable.value.text
    drafts = tuple(settled.drafts.items())
    return Question(argv, frozen(env), reading.target, settled.model, drafts, files)


def _has_error(found: Iterable[tuple[str, list[Finding]]]) -> bool:
    return any(finding.severity == "error" for _, each in found for finding in each)


def merge(
    found: Sequence[tuple[str, Sequence[Finding]]],
    samples: Sequence[tuple[str, Sequence[Finding]]] = (),
) -> tuple[Finding, ...]:
    """The findings of all readings of a launch, each once.

    One that does not come in every reading says when it does, and is no error and not proved. Samples
    can only weaken a finding so, they bring none of their own.
    """
    by_print: dict[str, list[tuple[str, Finding]]] = {}
    for number, (condition, findings) in enumerate((*found, *samples)):
        for each in {f.fingerprint: f for f in reversed(findings)}.values():
            if number < len(found) or each.fingerprint in by_print:
                by_print.setdefault(each.fingerprint, []).append((condition, each))
    order = {f.fingerprint: None for _, findings in found for f in findings}
    total = len(found) + len(samples)
    return tuple(_merged(by_print[mark], total) for mark in order)


def _merged(same: Sequence[tuple[str, Finding]], total: int) -> Finding:
    finding = same[0][1]
    if len(same) == total:
        return finding
    conditions = ", or ".join(condition for condition, _ in same if condition)
    severity: Severity = "warning" if finding.severity == "error" else finding.severity
    return replace(
        finding,
        severity=severity,
        confidence="likely",
        message=f"{finding.message} ({conditions})" if conditions else finding.message,
        fix=None,
    )


__all__ = ["Checked", "Checker", "Layers", "merge", "prediction"]
