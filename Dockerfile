# A release names the base by its digest (.github/workflows/image.yml resolves it); the tag is for builds at home.
ARG PYTHON_IMAGE=python:3.12-slim
FROM ${PYTHON_IMAGE} AS build
WORKDIR /src
COPY . .
RUN .ci/image /opt/keda-py

FROM ${PYTHON_IMAGE}
RUN python -m pip uninstall --quiet --yes pip
COPY --from=build /opt/keda-py /opt/keda-py
COPY LICENSE NOTICE /usr/share/doc/keda-py/
ENV PATH=/opt/keda-py/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
# Metrics API and webhook; Prometheus and probes.
EXPOSE 6443 9443 8080 8081
ENTRYPOINT ["keda-py"]
CMD ["operator"]
