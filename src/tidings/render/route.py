from tidings.rendering.route import *  # noqa
