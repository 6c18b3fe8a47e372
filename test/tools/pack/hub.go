package pack

import "github.com/google/go-containerregistry/pkg/v1/types"

// HubTag is the tag of a chart's repository under which Artifact Hub looks for who publishes it. The media types are those
// that it asks for (artifacthub/hub:docs/helm_charts_repositories.md).
const (
	HubTag                      = "artifacthub.io"
	hubConfig   types.MediaType = "application/vnd.cncf.artifacthub.config.v1+yaml"
	hubMetadata types.MediaType = "application/vnd.cncf.artifacthub.repository-metadata.layer.v1.yaml"
)

// WriteHubLayout makes an OCI layout of the file artifacthub-repo.yml.
func WriteHubLayout(directory, repository string, metadata []byte) error {
	return writeArtifact(directory, names(repository, HubTag), blob{[]byte("{}"), hubConfig}, blob{metadata, hubMetadata}, nil)
}
