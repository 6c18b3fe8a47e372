package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// ctlSets are flags of etcdctl that say where a cluster is and how to connect, which this plugin knows.
var ctlSets = []string{"--endpoints", "--cacert", "--cert", "--key", "--discovery-srv", "-d", "--discovery-srv-name",
	"--insecure-transport", "--insecure-discovery", "--insecure-skip-tls-verify"}

// ctlTakes are its other flags for all commands that take a value. What follows one of them is no word of a command.
var ctlTakes = []string{"--user", "--password", "--auth-jwt-token", "--write-out", "-w", "--dial-timeout",
	"--command-timeout", "--keepalive-time", "--keepalive-timeout", "--max-request-bytes", "--max-recv-bytes"}

// careful is what hurts by accident, by the first words of its command line, and the better way. It keeps nothing from
// a person who means it.
var careful = []struct {
	words  []string
	better string
}{
	{[]string{"member", "add"}, "The operator adds members: set spec.size, or replace one by `kubectl etcd-steward " +
		"replace MEMBER -n NAMESPACE`."},
	{[]string{"member", "remove"}, "The operator removes members: set spec.size, or replace one by `kubectl " +
		"etcd-steward replace MEMBER -n NAMESPACE`. It replaces a dead one by itself."},
	{[]string{"member", "update"}, "The operator gives members their URLs."},
	{[]string{"member", "promote"}, "The operator promotes a learner as soon as that is safe."},
	{[]string{"auth", "enable"}, "Set spec.auth.enabled to true: the operator makes the users first that clients " +
		"need."},
	{[]string{"auth", "disable"}, "Set spec.auth.enabled to false. The operator turns on again what the spec asks " +
		"for."},
	{[]string{"alarm", "disarm"}, "The operator disarms NOSPACE once there is space. Disarm CORRUPT only after the " +
		"data is right: `kubectl etcd-steward status CLUSTER` says what to do."},
	{[]string{"defrag"}, "A member does not serve meanwhile. The operator leads clients away first: `kubectl " +
		"etcd-steward defragment CLUSTER`."},
	{[]string{"downgrade", "enable"}, "Set spec.version: the operator downgrades one member after the other."},
	{[]string{"downgrade", "cancel"}, "Set spec.version back to what runs."},
	{[]string{"check", "perf"}, "It writes as fast as it can, beside your clients. `kubectl etcd-steward fio` " +
		"measures a disk."},
	{[]string{"check", "datascale"}, "It fills the database with keys, beside your clients."},
	{[]string{"del", ""}, "It may delete all keys. Back them up first: `kubectl etcd-steward backup CLUSTER --wait`."},
}

// judge refuses what this plugin sets, and what hurts by accident. It gives back what etcdctl gets.
func (o ctlOptions) judge(c *v1alpha1.EtcdCluster, typed []string) ([]string, error) {
	words, flags := wordsOf(typed)
	for _, flag := range flags {
		if slices.Contains(ctlSets, flag) {
			return nil, fmt.Errorf("leave out %s: the plugin knows where the members are, and connects with the "+
				"certificate of Secret %s-client-tls. Choose one member with --member, before the --", flag, c.Name)
		}
	}
	if slices.Contains(flags, "--cluster") {
		if !means(words, "endpoint") || o.member != "" {
			return nil, fmt.Errorf("leave out --cluster: URLs of members lead nowhere on this machine. "+
				"`kubectl etcd-steward ctl %s -- endpoint status` asks all members", named(c))
		}
		typed = slices.DeleteFunc(slices.Clone(typed), func(one string) bool { return one == "--cluster" })
	}
	for _, one := range careful {
		if !o.yes && means(words, one.words...) {
			better := strings.NewReplacer("CLUSTER", named(c), "NAMESPACE", c.Namespace).Replace(one.better)
			return nil, fmt.Errorf("etcdctl %s was not run. %s To run it all the same, add --yes before the --",
				strings.TrimSpace(strings.Join(one.words, " ")), better)
		}
	}
	return typed, nil
}

// wordsOf takes a command line of etcdctl apart: its words, and the names of its flags.
func wordsOf(typed []string) (words, flags []string) {
	for i := 0; i < len(typed); i++ {
		name, _, hasValue := strings.Cut(typed[i], "=")
		switch {
		case name == "--":
			return append(words, typed[i+1:]...), flags
		case len(name) < 2 || name[0] != '-':
			words = append(words, typed[i])
			continue
		case name[1] != '-':
			name = name[:2] // -wjson
		}
		flags = append(flags, name)
		if !hasValue && typed[i] == name && slices.Contains(ctlTakes, name) {
			i++
		}
	}
	return words, flags
}

// means reports that etcdctl takes the first words for these. The beginning of a command is enough for it.
func means(typed []string, words ...string) bool {
	if len(typed) < len(words) {
		return false
	}
	for i, word := range words {
		if !strings.HasPrefix(word, typed[i]) {
			return false
		}
	}
	return true
}
