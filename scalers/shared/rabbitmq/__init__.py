"""Queues of RabbitMQ by its management interface, or by AMQP.

In: the address with vhost and credentials, and names of queues. Out: the counts and rates of each.
"""
