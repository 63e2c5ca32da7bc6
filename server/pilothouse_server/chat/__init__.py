"""The door for editors without a plugin: commands, code actions and the chat document."""
