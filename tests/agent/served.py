"""The child of `test_end_to_end.py`: the loop on a vendor's real SDK, against a fake provider, durable.

Usage: python -m tests.agent.served LOG MODEL URL. Accepted reminders are printed.
"""

from __future__ import annotations

import asyncio
import sys

import tidings as td


async def main(log_path: str, model: str, url: str) -> None:
    with td.open_log(f"sqlite:///{log_path}") as log:
        session = td.Session("s", log=log)

        @td.tool(read_only=True)
        def look() -> str:
            """Look around."""
            turn = session.transcript.turn
            told = session.remind(body=f"news of turn {turn}", ttl_turns=2, id=f"turn-{turn}")
            print("accepted", told.reminder_id, flush=True)
            return "nothing new"

        result = await td.agent_loop(
            None if session.transcript.messages else "work",
            "You work.",
            model=td.model(model, base_url=url, api_key="not-a-key"),
            tools=[look],
            session=session,
            registry=td.Registry(),
            max_iterations=100,
        )
        print("finished", result.status, result.error, flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
