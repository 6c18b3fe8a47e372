# For every platform: docker buildx build --platform linux/amd64,linux/arm64 .
# `make image` builds the same image without Docker.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY api api
COPY cmd cmd
COPY controllers controllers
COPY pkg pkg
ARG TARGETOS TARGETARCH VERSION=dev
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -buildid= -X main.version=$VERSION" -o /out/ ./cmd/manager ./cmd/agent

FROM gcr.io/distroless/static:nonroot
LABEL org.opencontainers.image.title="etcd-steward" \
      org.opencontainers.image.description="Kubernetes operator for etcd clusters" \
      org.opencontainers.image.source="https://github.com/etcdsteward/etcd-steward" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /out/ /
WORKDIR /
USER 65532:65532
ENTRYPOINT ["/manager"]
