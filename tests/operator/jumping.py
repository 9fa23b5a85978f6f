"""An event loop whose own time can be set forward: waiting for I/O time-outs and back-offs costs a test nothing."""

from tests.patient import PatientLoop


class JumpingLoop(PatientLoop):
    """The patient loop's time, plus `ahead` seconds."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead
