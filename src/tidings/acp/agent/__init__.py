"""Our agent as an ACP agent over stdio: `tidings acp`.

`transport.py` stands between the bytes and the official SDK, `outlet.py` writes updates in the form that
the client can take, `methods.py` is what the SDK calls, `serve.py` puts them together.
"""
