FROM python:3.12-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
COPY . .
RUN python -m venv /opt/keda-py
RUN /opt/keda-py/bin/pip install --quiet '.[all]'
RUN /opt/keda-py/bin/pip uninstall --quiet --yes pip

FROM python:3.12-slim
COPY --from=build /opt/keda-py /opt/keda-py
ENV PATH=/opt/keda-py/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
# Metrics API and webhook; Prometheus and probes.
EXPOSE 6443 9443 8080 8081
ENTRYPOINT ["keda-py"]
CMD ["operator"]
