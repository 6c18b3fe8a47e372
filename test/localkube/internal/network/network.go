// Package network makes hosts out of network namespaces and ties them together.
//
// A namespace of its own, the switch, holds one bridge with a port for each host and one for this machine. The bridge is
// not on the machine itself, so that no firewall or setting of the machine sees the traffic between nodes, and none has
// to be changed. No host has a default route: nothing that starts inside ever leaves the machine.
package network

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// Up makes the switch, every host and the machine's own link.
func Up(nodes []layout.Node) error {
	if err := addSwitch(); err != nil {
		return err
	}
	if err := addHost(layout.ControlPlane, layout.ControlPlaneIP, nodes); err != nil {
		return err
	}
	for _, n := range nodes {
		if err := addHost(n.Name, n.IP, nodes); err != nil {
			return err
		}
	}
	return addMachine(nodes)
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

func addHost(host, address string, nodes []layout.Node) error {
	if err := ip("netns", "add", netns(host)); err != nil {
		return fmt.Errorf("making host %s: %w", host, err)
	}
	if err := batch(switchHost,
		fmt.Sprintf("link add %s type veth peer name %s netns %s", host, hostLink, netns(host)),
		fmt.Sprintf("link set %s master %s up", host, bridge),
	); err != nil {
		return err
	}
	lines := []string{
		"link set lo up",
		fmt.Sprintf("addr add %s/%d dev %s", address, layout.HostsPrefix, hostLink),
		"link set " + hostLink + " up",
		// A packet to a Service needs some route before its address is translated.
		fmt.Sprintf("route add %s dev %s src %s", layout.ServicesCIDR, hostLink, address),
	}
	lines = append(lines, podRoutes(nodes, host)...)
	if err := batch(host, lines...); err != nil {
		return err
	}
	return enableForwarding(host)
}

// podRoutes lead to the Pods of every node but the host itself.
func podRoutes(nodes []layout.Node, host string) []string {
	var lines []string
	for _, n := range nodes {
		if n.Name != host {
			lines = append(lines, fmt.Sprintf("route add %s via %s", n.PodCIDR, n.IP))
		}
	}
	return lines
}

func enableForwarding(host string) error {
	cmd := exec.Command("nsenter", "--net="+filepath.Join(netnsDir, netns(host)),
		"/bin/sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("enabling forwarding on %s: %w: %s", host, err, out)
	}
	return nil
}

// addMachine links this machine: it reaches hosts and Pods by routes, and Services through the control plane, which
// translates them.
func addMachine(nodes []layout.Node) error {
	if err := ip("link", "add", machineLink, "type", "veth", "peer", "name", machinePort, "netns", netns(switchHost)); err != nil {
		return fmt.Errorf("linking this machine: %w", err)
	}
	if err := batch(switchHost, fmt.Sprintf("link set %s master %s up", machinePort, bridge)); err != nil {
		return err
	}
	lines := []string{
		fmt.Sprintf("addr add %s/%d dev %s", layout.MachineIP, layout.HostsPrefix, machineLink),
		"link set " + machineLink + " up",
		fmt.Sprintf("route add unreachable %s metric %s", layout.Range, lastResort),
		fmt.Sprintf("route add %s via %s", layout.ServicesCIDR, layout.ControlPlaneIP),
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
	_ = exec.Command("ip", "route", "del", "unreachable", layout.Range, "metric", lastResort).Run()
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
