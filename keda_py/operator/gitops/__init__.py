"""GitOps tools that are told to leave counts alone while members sleep, by lines in their own objects."""
