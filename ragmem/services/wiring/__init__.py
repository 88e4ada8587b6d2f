"""The wiring of assistants, shells and autostart."""
