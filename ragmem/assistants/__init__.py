"""What is known of each coding assistant's settings, and how hooks are wired into them and out again."""
