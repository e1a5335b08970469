"""The task context (design §8): what a host tells and the transcript shows of the task, and how it is shown."""
