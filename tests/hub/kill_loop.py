"""A loop in a process of its own, joined to the hub: `python kill_loop.py LOG SOCKET`, until stdin ends."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import tidings as td
from tidings.agent.models.scripted import ScriptedModel
from tidings.hub import Attached
from tidings.log import open_log


async def work(path: Path, socket: str) -> None:
    with open_log(path) as log:
        session = td.Session("s", log=log)
        model = ScriptedModel(["Noted."], repeat=True)
        over = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
        async with Attached(session, socket=socket, patient=True):
            print("ready", flush=True)
            with session.listening() as news:
                while not over.done():
                    await td.agent_loop("Go on.", model=model, session=session)
                    waiting = asyncio.create_task(news.wait())
                    await asyncio.wait({waiting, over}, return_when=asyncio.FIRST_COMPLETED)
                    waiting.cancel()
                    news.clear()
        await td.agent_loop("The last.", model=model, session=session)


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1]), sys.argv[2]))
