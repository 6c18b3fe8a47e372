// Package dns answers the names of a cluster. It is CoreDNS as a library, with only those plugins that localkube's
// Corefile names: CoreDNS's own program links the clients of several clouds.
package dns

import (
	"context"
	"fmt"
	"os"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	_ "github.com/coredns/coredns/plugin/bind"       // for Plugins
	_ "github.com/coredns/coredns/plugin/errors"     // for Plugins
	_ "github.com/coredns/coredns/plugin/kubernetes" // for Plugins
	_ "github.com/coredns/coredns/plugin/template"   // for Plugins
)

// Plugins are in the order in which CoreDNS has them see a question.
var Plugins = []string{"bind", "errors", "template", "kubernetes"}

// Run serves what a Corefile says until ctx ends.
func Run(ctx context.Context, corefile string) error {
	text, err := os.ReadFile(corefile)
	if err != nil {
		return fmt.Errorf("reading the Corefile: %w", err)
	}
	caddy.Quiet, dnsserver.Directives = true, Plugins
	server, err := caddy.Start(caddy.CaddyfileInput{Contents: text, Filepath: corefile, ServerTypeName: "dns"})
	if err != nil {
		return fmt.Errorf("starting CoreDNS: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = server.Stop() })
	server.Wait()
	return nil
}
