# For every platform: docker buildx build --platform linux/amd64,linux/arm64 .
# `make image` builds the same image without Docker. Dependabot moves the tag and its digest together.
FROM --platform=$BUILDPLATFORM golang:1.26.8@sha256:3c3e25a4da13fd0478eed2df1eb35a0e667094a7124d3993a6a1d30f71c17e79 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY api api
COPY cmd cmd
COPY controllers controllers
COPY pkg pkg
ARG TARGETOS TARGETARCH VERSION=dev
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -buildid= -X main.version=$VERSION \
    -X github.com/etcdsteward/etcd-steward/controllers/pages.version=$VERSION" -o /out/ ./cmd/manager ./cmd/agent

# Nothing but the programs, as in the image of a release: they have time zones and authorities compiled in.
FROM scratch
LABEL org.opencontainers.image.title="etcd-steward" \
      org.opencontainers.image.description="Kubernetes operator for etcd clusters" \
      org.opencontainers.image.source="https://github.com/etcdsteward/etcd-steward" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /out/ /
WORKDIR /
USER 65532:65532
ENTRYPOINT ["/manager"]
