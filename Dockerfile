FROM python:3.12-slim AS build
WORKDIR /src
COPY . .
RUN python -m venv /opt/keda-py && /opt/keda-py/bin/pip install --no-cache-dir '.[all]'

FROM python:3.12-slim
COPY --from=build /opt/keda-py /opt/keda-py
ENV PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
ENTRYPOINT ["/opt/keda-py/bin/keda-py"]
