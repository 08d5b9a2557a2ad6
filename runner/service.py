"""RunService: starts, stops, resumes, shares and deletes runs, and says what they look like. The door of this room.

Runs go on whether or not anyone watches. Keys pass through to the engine's pipe; only what redaction needs is kept,
in memory, until the run has exited. All methods belong to one event loop.
"""

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipeline.core import clock
from pipeline.core.lock import Held
from pipeline.errors import UserError
from pipeline.growth import going_on, keep_spec
from pipeline.judging.outcomes import RETRIABLE
from pipeline.ledger import Entry, to_data
from pipeline.report.view import RunView
from pipeline.spec import Credentials, RunSpec
from runner import sharing
from runner.disk import Disk, spare
from runner.folded import Cache, Folded, card
from runner.gate import refuse_ungated
from runner.host import Host
from runner.limits import Admission, Limits, is_demo
from runner.live import LiveRun, Watched
from runner.mirror import Mirror, Mirroring
from runner.sharing import DAY, Access, Meta, Owner
from runner.store import Store
from runner.views import Row, Summaries, snapshot

ANYONE = Owner()
SWEEP_SECONDS = 3600.0
log = logging.getLogger(__name__)


class RunService:
    """All runs of one server.

    Args:
        home: data folder. engine_command: program to run instead of the real engine. limits: default from the
            environment. mirror: copies shared runs to a results repo; default from the environment.
    """

    def __init__(
        self,
        home: Path,
        engine_command: Sequence[str] | None = None,
        limits: Limits | None = None,
        mirror: Mirror | None = None,
    ) -> None:
        self.home = Path(home)
        self.limits = limits or Limits.from_env(os.environ)
        self._command, self._mirror = engine_command, mirror
        self._admission = {demo: Admission(self.limits, demo) for demo in (False, True)}
        self._disk = Disk(self.home, self.limits.free_mb)
        self._cache = Cache()
        self._loading: dict[str, asyncio.Lock] = {}
        self._summaries = Summaries()
        self._opening = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.is_open = self.closing = False
        self.streaming = True

    # -- life of the service

    async def open(self) -> None:
        """Read the run folders, end what a restart cut, start the engine in the background. A second call does nothing.

        Raises:
            UserError: another server uses the data folder.
        """
        async with self._opening:
            if self.is_open:
                return
            self._loop = asyncio.get_running_loop()
            self.store = await asyncio.to_thread(Store, self.home)
            cut = await asyncio.to_thread(self.store.scan)
            if cut:
                log.warning("%d runs were cut by a restart and can be resumed", len(cut))
            self.host = Host(self.store, self.limits, self._command, self._settled)
            self.mirroring = Mirroring(self._mirror or Mirror.from_env(os.environ), self.store, self._forget)
            self.host.open()
            self.host.spawn(self._sweep())
            self.host.spawn(self.mirroring.run())
            self.is_open = True

    async def close(self) -> None:
        """End streams and runs; what was running is marked interrupted and can be resumed."""
        if self.closing or not self.is_open:
            return
        self.closing = True
        self._end_streams()
        await self.host.close()
        self.store.close()

    def end_streams(self) -> None:
        """Let every event stream end now. For a server's signal handler, which runs before it waits for its connections."""
        if self._loop and self._loop.is_running():
            self._loop.call_soon_threadsafe(self._end_streams)

    def _end_streams(self) -> None:
        self.streaming = False
        for run in self.host.live.values() if self.is_open else ():
            run.wake()

    # -- what a visitor may do

    async def start(
        self,
        spec: RunSpec,
        credentials: Credentials,
        places_extra: Mapping[str, Any] | None = None,
        owner: Owner = ANYONE,
        earlier: Sequence[Entry] = (),
        live_prices: dict[str, Any] | None = None,
    ) -> str:
        """Start a run and return its secret id.

        Args:
            places_extra: `csv_path`, `resources_dir`, `cache_dir`, as far as they apply.
            earlier: calls that were made for this run already; they count. live_prices: the provider's own, by model name.

        Raises:
            UserError: a limit is reached, or the engine does not start.
        """
        await self.open()
        credentials.stay_out_of(spec)
        refuse_ungated(spec, credentials, owner.hf_user, places_extra)
        self.limits.check_size(spec)
        await self._make_room()
        self._check_start(owner, spec)
        secret, digest = sharing.new_secret(), sharing.owner_digest(self.store.salt, owner.hf_user)
        folded = Folded()
        folded.view.spec, folded.view.spec_digest = spec.model_dump(mode="json"), spec.digest
        key, facts = sharing.key_of(secret), card(folded.view)
        meta = Meta(key=key, created=time.time(), source=spec.source, owner=digest, bound=bool(digest), card=facts)
        places = _paths(places_extra)
        if meta.bound and spec.source == "hub":  # a shared Hub cache would hand gated files to whoever comes next
            places.setdefault("cache_dir", str(self.home.resolve() / "hub" / digest))
        self.store.create(meta, spec, places)
        order = {"places": places, "earlier": [to_data(e) for e in earlier], "live": live_prices, "resume": False}
        try:
            held = await self.host.hold(meta.key)
            await self.host.launch(meta.key, folded, owner.names, spec, credentials, order, held)
        except UserError:
            self.store.remove(meta.key)  # nobody has its link
            raise
        return secret

    async def resume(
        self,
        rid: str,
        credentials: Credentials,
        changes: Mapping[str, Any] | None = None,
        owner: Owner = ANYONE,
        places_extra: Mapping[str, Any] | None = None,
        live_prices: dict[str, Any] | None = None,
    ) -> None:
        """Go on with a run from what was paid for, perhaps with more tasks or epochs.

        Args:
            changes: settings that are given anew, see `pipeline.growth`.

        Raises:
            UserError: no such run for this owner, it is going on, or a change is not allowed.
        """
        await self.open()
        found = self._owned(rid, owner.hf_user, holder=True)
        if not found.text:
            raise UserError(
                "This run belongs to a Hugging Face account.", "", "Sign in with the account that started it."
            )
        key, spec = found.key, self.store.spec(found.key)
        if spec is None or found.meta.pulled:
            raise UserError("What this run needs to go on is not here.", "", "Start it anew.")
        held = await self.host.hold(key)
        try:
            self._forget(key)  # another process may have written to its folder since it was folded
            folded = (await self.watch(key)).folded
            view = folded.view
            spec = going_on(spec, changes or {}, view)
            self._check_growth(spec, view)
            refuse_ungated(spec, credentials, owner.hf_user, places_extra)
            self._check_start(owner, spec)
            if spec.grown_from == view.spec_digest:
                keep_spec(self.store.folder(key), view)
            view.status, view.reason, view.finished = "running", "", None
            folded.wire.touch()
            places = self.store.places(key) | _paths(places_extra)
            self.store.reopen(key, spec, places, card(view))
        except BaseException:
            held.release()
            raise
        order = {"places": places, "live": live_prices, "resume": True}
        await self.host.launch(key, folded, owner.names, spec, credentials, order, held)

    async def stop(self, rid: str, hf_user: str | None = None) -> None:
        """Ask a run to stop; the order has left when this returns. A run that is not going on stays as it is.

        Raises:
            UserError: no such run for this owner or holder of its secret link.
        """
        await self.open()
        if run := self.host.live.get(self._owned(rid, hf_user, holder=True).key):
            await self.host.stop(run)

    async def delete(self, rid: str, hf_user: str | None = None) -> None:
        """Delete a run wholly, ending it first; its shared copy goes from the results repo too.

        Raises:
            UserError: no such run for this owner.
        """
        await self.open()
        await self._delete(self._owned(rid, hf_user).meta)

    async def share(self, rid: str, level: str, days: float | None = None, hf_user: str | None = None) -> Meta:
        """Set a run's sharing level; going private revokes its public id for good.

        Raises:
            UserError: no such run for this owner, no such level, or no such number of days.
        """
        await self.open()
        old = self._owned(rid, hf_user).meta
        # Its owner decides here from now on, also where it came back from the results repo.
        meta = replace(sharing.shared_as(old, level, days, time.time()), pulled=False)
        self.store.save(meta)
        if old.public_id and old.public_id != meta.public_id:
            self.mirroring.remove(old.public_id)
        self.mirroring.nudge()
        return meta

    # -- what a visitor may see

    def get(self, rid: str, hf_user: str | None = None) -> Access | None:
        """What the holder of an id (secret, public, or the folder key of one's own run when signed in) may do.

        None for ids that are unknown, deleted, revoked or expired, and for everything before `open`.
        """
        if not self.is_open or not isinstance(rid, str):
            return None
        store, viewer = self.store, sharing.owner_digest(self.store.salt, hf_user)
        if sharing.is_public(rid):
            meta = store.by_public(rid)
            return sharing.access(meta, "public", viewer, time.time()) if meta else None
        if meta := store.metas.get(sharing.key_of(rid)):
            return sharing.access(meta, "secret", viewer, time.time())
        if sharing.is_key(rid) and (meta := store.metas.get(rid)):
            return sharing.access(meta, "key", viewer, time.time())
        return None

    async def view(self, rid: str, hf_user: str | None = None) -> RunView | None:
        """The run's state, or None where `get` gives None. A copy that later events do not change."""
        await self.open()
        found = self.get(rid, hf_user)
        return snapshot((await self.watch(found.key)).folded.view) if found else None

    async def summary(self, rid: str, hf_user: str | None = None) -> Any:
        """The run's `pipeline.report.summary.Summary`, or None for an unknown run or before its plan is known."""
        await self.open()
        found = self.get(rid, hf_user)
        return await self.summary_of(found.key) if found else None

    async def summary_of(self, key: str) -> Any:
        """As `summary`, by folder key, for callers that have checked access."""
        watched = await self.watch(key)
        return await self._summaries.get(key, watched.folded, fresh=watched.settled)

    async def watch(self, key: str) -> Watched:
        """The run with the folder name `key`, folded, loading it from disk where needed. Check access first."""
        if key in self.host.live:
            return self.host.live[key]
        async with self._loading.setdefault(key, asyncio.Lock()):
            if key in self.host.live:
                return self.host.live[key]
            folded = self._cache.get(key)
            if folded is None:
                folded = await asyncio.to_thread(self.store.load, key)
                self._cache.put(key, folded)
        self._loading.pop(key, None)
        return Watched(folded, settled=True)

    def folder(self, found: Access) -> Path:
        """The run's folder. `private/` in it is only for those whose `Access.text` is true."""
        return self.store.folder(found.key)

    def list_for(self, ids: Iterable[str] = (), hf_user: str | None = None) -> list[Row]:
        """The runs behind these ids and those of the signed-in account, newest first; what is gone is left out."""
        if not self.is_open:
            return []
        rows: dict[str, Row] = {}
        mine = sharing.owner_digest(self.store.salt, hf_user)
        own = [m.key for m in list(self.store.metas.values()) if mine and m.owner == mine]
        for rid in [*ids, *own]:
            found = self.get(rid, hf_user)
            if found and found.key not in rows:
                rows[found.key] = self._row(rid, found)
        return sorted(rows.values(), key=lambda r: -r.created)

    def recent(self, limit: int = 100) -> list[Row]:
        """Listed runs, newest first, each under its public id and as a stranger sees it."""
        if not self.is_open:
            return []
        now = time.time()
        listed = [m for m in list(self.store.metas.values()) if m.level == "listed" and m.shared(now)]
        listed.sort(key=lambda m: -m.created)
        return [self._row(m.public_id, Access(m, owner=False, text=False)) for m in listed[:limit]]

    def running(self) -> int:
        """Number of runs going on."""
        return len(self.host.live)

    @property
    def mirror_status(self) -> str:
        """One sentence on the results repo, "" where none is set."""
        return self.mirroring.status if self.is_open else ""

    # -- inside

    def _owned(self, rid: str, hf_user: str | None, holder: bool = False) -> Access:
        found = self.get(rid, hf_user)
        if found is None or not (found.holder if holder else found.owner):
            raise UserError("This run is not available.", "", "Use the run's own link, or sign in as its owner.")
        return found

    def _row(self, rid: str, found: Access) -> Row:
        meta, live = found.meta, self.host.live.get(found.key)
        facts = card(live.view) if live else meta.card
        counts = facts.get("counts", {})
        unfinished = facts.get("planned", 0) > facts.get("done", 0) or any(counts.get(o.value) for o in RETRIABLE)
        resumable = found.text and live is None and not meta.pulled and (unfinished or not facts.get("planned"))
        public = meta.public_id if meta.shared(time.time()) else ""
        return Row(rid, meta.created, found.owner, meta.level if found.owner else "", public, resumable, facts)

    def _check_growth(self, spec: RunSpec, view: RunView) -> None:
        """As for a new run, a run that grows may not pass the most tasks allowed here."""
        if spec.grown_from and spec.grown_from == view.spec_digest:
            available = int((view.estimate or {}).get("available") or 0) or (view.data.available if view.data else 0)
            self.limits.check_size(spec)
            self.limits.check_tasks(spec, min(spec.sample_limit or available, available) * spec.epochs)

    def _check_start(self, owner: Owner, spec: RunSpec) -> None:
        self._disk.check()
        demo = is_demo(spec)
        self._admission[demo].admit(owner.names, self.host.behind(demo), clock.now())

    async def _make_room(self) -> None:
        for meta in spare(self.store.metas.values(), self.host.live, clock.now()) if self._disk.full() else ():
            await self._delete(meta)
            if not self._disk.full():
                return

    def _settled(self, run: LiveRun) -> None:
        if run.key in self.store.metas:
            self._cache.put(run.key, run.folded)
        self.mirroring.nudge()

    async def _delete(self, meta: Meta) -> None:
        if run := self.host.live.get(meta.key):
            await self.host.kill(run)
        elif not meta.pulled:
            (await self.host.hold(meta.key)).release()
        if meta.public_id:
            self.mirroring.remove(meta.public_id)
        self._forget(meta.key)
        await asyncio.to_thread(self.store.remove, meta.key)

    def _forget(self, key: str) -> None:
        self._cache.drop(key)
        self._summaries.drop(key)

    async def sweep(self, now: float) -> None:
        """Delete private runs that ended longer than `keep_days` before `now`; an expired link counts as private."""
        keep = self.limits.keep_days * DAY
        for meta in list(self.store.metas.values()) if keep else ():
            old = (meta.ended or meta.created) < now - keep
            if old and meta.key not in self.host.live and not meta.shared(now):
                with contextlib.suppress(Held):  # another process works on it
                    await self._delete(meta)

    async def _sweep(self) -> None:
        while True:
            await self.sweep(time.time())
            await asyncio.sleep(SWEEP_SECONDS)


def _paths(places_extra: Mapping[str, Any] | None) -> dict[str, str]:
    return {name: str(path) for name, path in (places_extra or {}).items() if path is not None}
