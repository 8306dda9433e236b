"""The Secret with the ssh keys that the job's pods share."""
