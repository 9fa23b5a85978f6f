"""The HPA controller: what it asks, and how an HPA becomes the arithmetic of `core/hpa`.

In: HorizontalPodAutoscalers, scales and metrics. Out: scales, conditions and Events.
"""
