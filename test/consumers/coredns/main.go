// Command coredns is CoreDNS with the plugins that docs/recipes.md names, for that page to run. Its own program links the
// clients of several clouds.
package main

import (
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/errors" // for the Corefile
	_ "github.com/coredns/coredns/plugin/etcd"   // for the Corefile
	_ "github.com/coredns/coredns/plugin/ready"  // for the Corefile
)

func main() { coremain.Run() }
