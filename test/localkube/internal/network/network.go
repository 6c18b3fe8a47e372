// Package network makes hosts out of network namespaces and ties them together.
//
// A namespace of its own, the switch, holds one bridge with a port for each host and one for this machine. The bridge is
// not on the machine itself, so that no firewall or setting of the machine sees the traffic between nodes, and none has
// to be changed. No host has a default route: nothing that starts inside ever leaves the machine.
package network

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/etcdsteward/etcd-steward/test/localkube/internal/layout"
)

const (
	switchHost  = "switch"
	bridge      = "bridge"
	machineLink = "localkube"
	machinePort = "machine"
	hostLink    = "eth0"
	netnsDir    = "/run/netns"
	// lastResort makes the machine's own unreachable route lose against any route somebody else has for the range.
	lastResort = "4294967295"
)

func netns(host string) string { return layout.NetnsPrefix + host }

// Check says which family of addresses this machine's kernel does not have.
func Check(families layout.Families) error {
	if _, err := os.Stat("/proc/sys/net/ipv6"); err != nil && slices.Contains(families.Names(), layout.IPv6.Name) {
		return errors.New("this machine's kernel has no IPv6: start it without ipv6.disable=1, or leave IPv6 out of --ip-families")
	}
	return nil
}

// Up makes the switch, every host and the machine's own link.
func Up(families layout.Families, nodes []layout.Node) error {
	if err := addSwitch(); err != nil {
		return err
	}
	if err := addHost(layout.ControlPlane, families, families.ControlPlanes(), nodes); err != nil {
		return err
	}
	for _, n := range nodes {
		if err := addHost(n.Name, families, n.IPs, nodes); err != nil {
			return err
		}
	}
	return addMachine(families, nodes)
}

func addSwitch() error {
	if err := ip("netns", "add", netns(switchHost)); err != nil {
		return fmt.Errorf("making the switch: %w", err)
	}
	return batch(switchHost,
		"link set lo up",
		"link add "+bridge+" type bridge",
		"link set "+bridge+" up",
	)
}

func addHost(host string, families layout.Families, addresses []string, nodes []layout.Node) error {
	if err := ip("netns", "add", netns(host)); err != nil {
		return fmt.Errorf("making host %s: %w", host, err)
	}
	if err := batch(switchHost,
		fmt.Sprintf("link add %s type veth peer name %s netns %s", host, hostLink, netns(host)),
		fmt.Sprintf("link set %s master %s up", host, bridge),
	); err != nil {
		return err
	}
	lines := []string{"link set lo up", "link set " + hostLink + " up"}
	for i, f := range families {
		lines = append(lines, addAddress(f, addresses[i], hostLink),
			// A packet to a Service needs some route before its address is translated.
			fmt.Sprintf("route add %s dev %s src %s", f.Services, hostLink, addresses[i]))
	}
	lines = append(lines, podRoutes(nodes, host)...)
	if err := batch(host, lines...); err != nil {
		return err
	}
	return enableForwarding(host)
}

// addAddress gives a link an address. One of IPv6 is used at once: nothing else on the switch can have it.
func addAddress(f layout.Family, address, link string) string {
	line := fmt.Sprintf("addr add %s/%d dev %s", address, f.HostsPrefix, link)
	if f.Name == layout.IPv6.Name {
		line += " nodad"
	}
	return line
}

// podRoutes lead to the Pods of every node but the host itself.
func podRoutes(nodes []layout.Node, host string) []string {
	var lines []string
	for _, n := range nodes {
		if n.Name != host {
			for i, pods := range n.PodCIDRs {
				lines = append(lines, fmt.Sprintf("route add %s via %s", pods, n.IPs[i]))
			}
		}
	}
	return lines
}

func enableForwarding(host string) error {
	cmd := exec.Command("nsenter", "--net="+filepath.Join(netnsDir, netns(host)),
		"/bin/sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward; "+
			"[ ! -e /proc/sys/net/ipv6 ] || echo 1 > /proc/sys/net/ipv6/conf/all/forwarding")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("enabling forwarding on %s: %w: %s", host, err, out)
	}
	return nil
}

// addMachine links this machine: it reaches hosts and Pods by routes, and Services through the control plane, which
// translates them.
func addMachine(families layout.Families, nodes []layout.Node) error {
	if err := ip("link", "add", machineLink, "type", "veth", "peer", "name", machinePort, "netns", netns(switchHost)); err != nil {
		return fmt.Errorf("linking this machine: %w", err)
	}
	if err := batch(switchHost, fmt.Sprintf("link set %s master %s up", machinePort, bridge)); err != nil {
		return err
	}
	lines := []string{"link set " + machineLink + " up"}
	for _, f := range families {
		lines = append(lines, addAddress(f, f.Machine, machineLink),
			fmt.Sprintf("route add unreachable %s metric %s", f.Range, lastResort),
			fmt.Sprintf("route add %s via %s", f.Services, f.ControlPlane))
	}
	return batchIn(nil, "this machine", append(lines, podRoutes(nodes, "")...))
}

// Cut pulls the plug of a host: nothing gets in or out, all on it goes on running.
func Cut(host string) error { return setPort(host, "down") }

// Heal puts the plug of a host back.
func Heal(host string) error { return setPort(host, "up") }

func setPort(host, state string) error {
	if err := ip("-n", netns(switchHost), "link", "set", host, state); err != nil {
		return fmt.Errorf("setting the port of %s %s: %w", host, state, err)
	}
	return nil
}

// DropPods takes away the links of a dead host's Pods, and their routes with them. Left to itself the kernel does so minutes
// later, once it has given up on the last connection of processes that are gone; by then a new Pod may have the address, and
// would lose its route.
func DropPods(host string) error {
	links, err := podLinks(host)
	if err != nil {
		return err
	}
	for _, link := range links {
		_ = ip("-n", netns(host), "link", "del", link) // the kernel may be faster
	}
	if links, err = podLinks(host); err != nil {
		return err
	}
	if len(links) > 0 {
		return fmt.Errorf("links of Pods that cannot be removed from %s: %s", host, strings.Join(links, ", "))
	}
	return nil
}

// podLinks are the host's ends of its Pods' links.
func podLinks(host string) ([]string, error) {
	out, err := exec.Command("ip", "-n", netns(host), "-o", "link", "show", "type", "veth").Output()
	if err != nil {
		return nil, fmt.Errorf("listing the links of %s: %w", host, err)
	}
	var links []string
	for line := range strings.Lines(string(out)) { // 7: veth1a2b@if2: <BROADCAST…
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		if name, _, _ := strings.Cut(strings.TrimSuffix(fields[1], ":"), "@"); name != hostLink {
			links = append(links, name)
		}
	}
	return links, nil
}

// IsCut says whether the plug of a host is pulled.
func IsCut(host string) bool {
	out, err := exec.Command("ip", "-n", netns(switchHost), "-o", "link", "show", host).Output()
	return err == nil && strings.Contains(string(out), "state DOWN")
}

// Down removes every namespace, and with it every link and route, whoever made it.
func Down() error {
	names, err := Left()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := ip("netns", "del", name); err != nil {
			return fmt.Errorf("removing %s: %w", name, err)
		}
	}
	// The link of the machine went with the switch; after a killed `up` it may be on its own.
	_ = exec.Command("ip", "link", "del", machineLink).Run()
	for _, f := range (layout.Families{layout.IPv4, layout.IPv6}) {
		_ = exec.Command("ip", "route", "del", "unreachable", f.Range, "metric", lastResort).Run()
	}
	removeNetnsDir()
	return nil
}

// removeNetnsDir undoes what the first `ip netns add` did: it makes the directory a mount of its own. Others may have
// namespaces there, then both calls are refused, as they should.
func removeNetnsDir() {
	if entries, err := os.ReadDir(netnsDir); err != nil || len(entries) > 0 {
		return
	}
	_ = unix.Unmount(netnsDir, 0)
	_ = unix.Rmdir(netnsDir)
}

// Left returns the names of the namespaces that exist.
func Left() ([]string, error) {
	entries, err := os.ReadDir(netnsDir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing network namespaces: %w", err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), layout.NetnsPrefix) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func batch(host string, lines ...string) error {
	return batchIn([]string{"-n", netns(host)}, host, lines)
}

func batchIn(where []string, what string, lines []string) error {
	cmd := exec.Command("ip", append(where, "-batch", "-")...)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("setting up the network of %s: %w: %s", what, err, strings.TrimSpace(string(out)))
	}
	return nil
}

func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
