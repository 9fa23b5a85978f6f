"""gRPC for triggers that ask it: channels that are shared by server and credential, bounded answers, errors in words.

In: an address, TLS settings, encoded messages. Out: the bytes of answers; what they say is for the scaler.
"""
