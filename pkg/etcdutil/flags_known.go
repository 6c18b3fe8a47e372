package etcdutil

func findFlag(_ Version, _ string) bool { return true }
