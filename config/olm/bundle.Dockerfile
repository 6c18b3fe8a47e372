# docker build --file bundle.Dockerfile .
FROM scratch
LABEL com.redhat.openshift.versions="v4.21"
LABEL operators.operatorframework.io.bundle.channel.default.v1="candidate"
LABEL operators.operatorframework.io.bundle.channels.v1="candidate"
LABEL operators.operatorframework.io.bundle.manifests.v1="manifests/"
LABEL operators.operatorframework.io.bundle.mediatype.v1="registry+v1"
LABEL operators.operatorframework.io.bundle.metadata.v1="metadata/"
LABEL operators.operatorframework.io.bundle.package.v1="etcd-steward"
LABEL operators.operatorframework.io.test.config.v1="tests/scorecard/"
LABEL operators.operatorframework.io.test.mediatype.v1="scorecard+v1"
LABEL org.opencontainers.image.documentation="https://github.com/etcdsteward/etcd-steward/blob/main/docs/install.md#olm"
LABEL org.opencontainers.image.licenses="Apache-2.0"
LABEL org.opencontainers.image.source="https://github.com/etcdsteward/etcd-steward"
LABEL org.opencontainers.image.title="etcd-steward bundle for OLM"
COPY bundle/manifests /manifests/
COPY bundle/metadata /metadata/
COPY bundle/tests/scorecard /tests/scorecard/
