"""A watcher of your own: an async generator that yields what an agent should know. Run by a test."""

import asyncio
import shutil

import tidings as td
from tidings.watchers import Told, watching


async def disk(path=".", below=10**18, every=60.0):
    while True:
        free = shutil.disk_usage(path).free
        if free < below:
            yield Told(f"The disk is nearly full: {free // 10**9} GB are free.", dedupe_key="disk:free")
        await asyncio.sleep(every)


async def main():
    session = td.Session()
    async with asyncio.timeout(10), watching(session, disk()):
        with session.listening() as news:
            await news.wait()
        model = td.ScriptedModel(["I will clean up first."])
        await td.agent_loop("Build the release.", model=model, session=session)
    print(model.requests[0]["messages"][0]["content"])


asyncio.run(main())
