"""Commands that are processes of a cluster, operator and waker, and the flags that their settings make."""
