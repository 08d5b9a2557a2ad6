"""`send` that holds an answer back until it is whole, for those few answers that are mended before a browser gets them."""

from abc import ABC, abstractmethod

from starlette.types import Message, Send


class Whole(ABC):
    """To be subclassed: `wanted` says which answers are held back, `finish` sends what becomes of one."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self.start: Message | None = None
        self.body = b""

    async def __call__(self, message: Message) -> None:
        """Take one message; all of an answer that is not wanted goes straight through."""
        if message["type"] == "http.response.start" and self.wanted(message):
            self.start = message
        elif message["type"] != "http.response.body" or self.start is None:
            await self.send(message)
        else:
            self.body += message.get("body", b"")
            if not message.get("more_body"):
                await self.finish(self.start)

    @abstractmethod
    def wanted(self, start: Message) -> bool:
        """Whether the answer that begins so is to be held back."""

    @abstractmethod
    async def finish(self, start: Message) -> None:
        """Send the answer, now that `body` is whole."""
