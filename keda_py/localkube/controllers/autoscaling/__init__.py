"""The HPA controller: its metric queries, and the conversion of an HPA to the arithmetic of `core/hpa`.

In: HorizontalPodAutoscalers, scales and metrics. Out: scales, conditions and Events.
"""
