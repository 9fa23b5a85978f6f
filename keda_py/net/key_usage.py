"""Key usage of certificates, the same for those that the operator and the embedded cluster issue."""

from cryptography import x509


def key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    """Return the usage of an authority's key, which signs certificates, or of a server's or client's."""
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
