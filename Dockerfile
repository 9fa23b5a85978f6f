# A release names the base by its digest (.github/workflows/image.yml resolves it); the tag is for builds at home.
# `.ci/rootfs` makes the same files without a container engine.
ARG BASE_IMAGE=debian:12-slim
FROM ${BASE_IMAGE} AS build
RUN apt-get update && apt-get install -y --no-install-recommends binutils ca-certificates python3-venv
WORKDIR /src
COPY . .
RUN .ci/rootfs /rootfs

FROM scratch
COPY --from=build /rootfs /
ENV PATH=/usr/bin PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# A number, so that Kubernetes can see that it is not root.
USER 65532:65532
# Metrics API and webhook; Prometheus and probes.
EXPOSE 6443 9443 8080 8081
ENTRYPOINT ["keda-py"]
CMD ["operator"]
