"""Results of simulations for people and programs: text, JSON, CSV, and one HTML page that needs nothing else.

In: `Report`. Out: text. What manifests and traces wrote is shown as text, never as commands or markup.
"""
