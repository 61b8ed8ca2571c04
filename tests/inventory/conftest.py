from frame_files import folder, guard, home  # noqa: F401
