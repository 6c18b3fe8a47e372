// Package registry is a private container registry: over TLS, with a password. Nodes know its CA, and no password: Pods
// pull from it with a Secret, as from any registry that a company keeps for itself.
package registry

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"golang.org/x/sync/errgroup"
)

// Port is where the control plane serves it. User and Password are who may push and pull.
const (
	Port     = "5000"
	User     = "localkube"
	Password = "pulls-and-pushes"
)

// headerTimeout is longer than any client needs.
const headerTimeout = 10 * time.Second

// Server is what the registry needs to serve.
type Server struct {
	Dir         string // where layers are kept
	Certificate string
	Key         string
}

// Handler serves images to those who have the password. It makes the directory that it keeps their layers in.
func Handler(dir string) (http.Handler, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of the registry: %w", err)
	}
	images := registry.New(registry.WithBlobHandler(registry.NewDiskBlobHandler(dir)),
		registry.Logger(log.New(io.Discard, "", 0)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isAllowed(r) {
			w.Header().Set("WWW-Authenticate", `Basic realm="localkube"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, http.StatusUnauthorized)
			return
		}
		images.ServeHTTP(w, r)
	}), nil
}

func isAllowed(r *http.Request) bool {
	user, password, _ := r.BasicAuth()
	return subtle.ConstantTimeCompare([]byte(user+":"+password), []byte(User+":"+Password)) == 1
}

// Run serves at these addresses until ctx ends.
func (s Server) Run(ctx context.Context, addresses ...string) error {
	handler, err := Handler(s.Dir)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, address := range addresses {
		server := &http.Server{Addr: net.JoinHostPort(address, Port), Handler: handler, ReadHeaderTimeout: headerTimeout}
		context.AfterFunc(ctx, func() { _ = server.Close() })
		group.Go(func() error {
			if err := server.ListenAndServeTLS(s.Certificate, s.Key); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serving images at %s: %w", server.Addr, err)
			}
			return nil
		})
	}
	return group.Wait()
}
