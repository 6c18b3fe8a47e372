package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Client pushes to a registry.
type Client struct {
	Host      string // with its port, as images are named by it
	Transport http.RoundTripper
}

// Trusting is how a client of this machine reaches a registry whose certificate is from that CA.
func Trusting(ca string) (http.RoundTripper, error) {
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, fmt.Errorf("reading the CA of the registry: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", ca)
	}
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}, nil
}

// Push puts the images of a docker-archive into the registry, each under its name with this host in place of its own. It
// returns these names, with the digest behind each.
func (c Client) Push(ctx context.Context, archive string) ([]string, error) {
	open := func() (io.ReadCloser, error) { return os.Open(archive) }
	manifest, err := tarball.LoadManifest(open)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", archive, err)
	}
	var pushed []string
	for _, described := range manifest {
		for _, text := range described.RepoTags {
			tag, err := name.NewTag(text)
			if err != nil {
				return pushed, fmt.Errorf("reading the names in %s: %w", archive, err)
			}
			image, err := tarball.Image(open, &tag)
			if err != nil {
				return pushed, fmt.Errorf("reading %s of %s: %w", text, archive, err)
			}
			reference, err := c.push(ctx, tag, image)
			if err != nil {
				return pushed, err
			}
			pushed = append(pushed, reference)
		}
	}
	return pushed, nil
}

func (c Client) push(ctx context.Context, from name.Tag, image v1.Image) (string, error) {
	to, err := name.NewTag(fmt.Sprintf("%s/%s:%s", c.Host, from.RepositoryStr(), from.TagStr()))
	if err != nil {
		return "", fmt.Errorf("naming %s in the registry: %w", from, err)
	}
	if image, err = asOfRegistry(image); err != nil {
		return "", fmt.Errorf("labelling %s: %w", to, err)
	}
	err = remote.Write(to, image, remote.WithContext(ctx), remote.WithTransport(c.Transport),
		remote.WithAuth(&authn.Basic{Username: User, Password: Password}))
	if err != nil {
		return "", fmt.Errorf("pushing %s: %w", to, err)
	}
	digest, err := image.Digest()
	if err != nil {
		return "", fmt.Errorf("finding the digest of %s: %w", to, err)
	}
	return to.Name() + "@" + digest.String(), nil
}

// asOfRegistry gives an image an ID of its own. The kubelet remembers by that ID which images were pulled with a password,
// and starts none of them without: an image that was loaded into the nodes would be one of them, if it were the same.
func asOfRegistry(image v1.Image) (v1.Image, error) {
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config := *file.Config.DeepCopy()
	if config.Labels == nil {
		config.Labels = map[string]string{}
	}
	config.Labels["localkube.registry"] = User
	return mutate.Config(image, config)
}
