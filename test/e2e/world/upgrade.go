package world

import (
	"context"
	"os/exec"
	"path/filepath"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/etcdsteward/etcd-steward/test/needs"
)

// PreviousCommit is what users of this project come from: the last commit before what is built now.
const PreviousCommit = "cb1f503"

// BuildCommit builds the operator of another commit of this project, as somebody would who checked it out, and gives its
// image to the nodes. It takes a clone with that much of the history.
func (w *World) BuildCommit(ctx context.Context, commit string) *Install {
	ginkgo.GinkgoHelper()
	if err := exec.CommandContext(ctx, "git", "-C", project, "cat-file", "-e", commit+"^{commit}").Run(); err != nil {
		needs.Missing(ginkgo.GinkgoT(), "this clone does not have the commit "+commit+": git fetch --unshallow")
	}
	tree := filepath.Join(ginkgo.GinkgoT().TempDir(), "tree")
	run(ctx, "git", "-C", project, "worktree", "add", "--detach", tree, commit)
	ginkgo.DeferCleanup(func(ctx context.Context) { run(ctx, "git", "-C", project, "worktree", "remove", "--force", tree) })
	// It is no part of the make that runs the stories.
	run(ctx, "env", "--unset=MAKEFLAGS", "--unset=MFLAGS", "--unset=MAKELEVEL",
		"make", "-C", tree, "image", "dist/install.yaml", "IMG=ghcr.io/etcdsteward/etcd-steward:"+commit)
	_, err := w.localkube(ctx, "load", filepath.Join(tree, "bin", "etcd-steward-image.tar"))
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return &Install{world: w, manifest: filepath.Join(tree, "dist", "install.yaml")}
}
