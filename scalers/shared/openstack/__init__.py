"""Services of OpenStack. In: who asks, by password or application credential. Out: tokens, and where services are."""
