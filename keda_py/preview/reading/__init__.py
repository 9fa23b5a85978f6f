"""What is previewed, and of when: texts of files, and the flags about the period.

In: texts, flags. Out: manifests for `replay/reading/`, and the period in the zone of its days. Next: `replay/`.
"""
