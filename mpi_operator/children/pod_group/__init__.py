"""The objects that tell a gang scheduler which pods of a job are to start together: one room, a file per scheduler."""
