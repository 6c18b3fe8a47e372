package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcdsteward/etcd-steward/api/v1alpha1"
)

// kube is kubectl, as a user would call it.
type kube struct{ command []string }

func (k kube) build(ctx context.Context, args ...string) *exec.Cmd {
	all := append(append([]string(nil), k.command[1:]...), args...)
	return exec.CommandContext(ctx, k.command[0], all...)
}

// show prints the command and runs it.
func (k kube) show(ctx context.Context, args ...string) error {
	fmt.Printf("         $ kubectl %s\n", strings.Join(args, " "))
	command := k.build(ctx, args...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

func (k kube) output(ctx context.Context, args ...string) (string, error) {
	command := k.build(ctx, args...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}

// apply hands an object to kubectl, which says what it did with it.
func (k kube) apply(ctx context.Context, object any) error {
	text, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("writing an object: %w", err)
	}
	fmt.Println("         $ kubectl apply --server-side --force-conflicts -f -")
	command := k.build(ctx, "apply", "--server-side", "--force-conflicts", "-f", "-")
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(text), os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("kubectl apply: %w", err)
	}
	return nil
}

// backup reads the status of an EtcdBackup.
func (k kube) backup(ctx context.Context, name string) (v1alpha1.EtcdBackupStatus, error) {
	var b v1alpha1.EtcdBackup
	out, err := k.output(ctx, "get", "etcdbackups.etcdsteward.dev", name, "-o", "json")
	if err != nil {
		return b.Status, err
	}
	if err := json.Unmarshal([]byte(out), &b); err != nil {
		return b.Status, fmt.Errorf("reading the EtcdBackup %s: %w", name, err)
	}
	return b.Status, nil
}

func (k kube) podUID(ctx context.Context, name string) (string, error) {
	return k.output(ctx, "get", "pod", name, "--ignore-not-found", "-o", "jsonpath={.metadata.uid}")
}

// seen is a cluster as the API server shows it.
type seen struct {
	Spec struct {
		Size int `json:"size"`
	} `json:"spec"`
	Metadata struct {
		Generation int64 `json:"generation"`
	} `json:"metadata"`
	Status struct {
		v1alpha1.EtcdClusterStatus `json:",inline"`
		NextStep                   v1alpha1.NextStep `json:"nextStep"`
	} `json:"status"`
}

func (k kube) cluster(ctx context.Context) (seen, error) {
	out, err := k.output(ctx, "get", "etcdclusters.etcdsteward.dev", cluster, "-o", "json")
	if err != nil {
		return seen{}, err
	}
	var s seen
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		return seen{}, fmt.Errorf("reading the cluster %s: %w", cluster, err)
	}
	return s, nil
}

func (s seen) isReady() bool {
	return s.Status.ObservedGeneration == s.Metadata.Generation && meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionReady)
}

func (s seen) healthyVoters() int {
	n := 0
	for _, m := range s.Status.Members {
		if m.Role == v1alpha1.RoleVoter && m.Healthy {
			n++
		}
	}
	return n
}
