package s3server

import "path/filepath"

// arguments are those with which a program serves a directory. Each takes a directory at its root as a bucket.
func (s *Server) arguments(address string) []string {
	data := filepath.Join(s.dir, "data")
	if s.Kind == Rclone {
		args := []string{
			"serve", "s3", data, "--addr", address, "--log-level", "INFO",
			// Nobody's configuration of rclone is read.
			"--config", "", "--cache-dir", filepath.Join(s.dir, "cache"),
		}
		if s.pair != nil {
			args = append(args, "--cert", s.pair.CertFile, "--key", s.pair.KeyFile)
		}
		return args
	}
	args := []string{"--port", address, "--region", s.Region, "--keep-alive"}
	if s.pair != nil {
		args = append(args, "--cert", s.pair.CertFile, "--key", s.pair.KeyFile)
	}
	// Metadata in files, since not every file system of tests has extended attributes.
	return append(args, "posix", "--sidecar", filepath.Join(s.dir, "meta"), data)
}

// environment has the credentials, so that no list of processes shows them.
func (s *Server) environment() []string {
	common := []string{"HOME=" + s.dir, "TMPDIR=" + filepath.Join(s.dir, "cache")}
	if s.Kind == Rclone {
		return append(common, `RCLONE_AUTH_KEY="`+s.AccessKeyID+","+s.SecretAccessKey+`"`)
	}
	return append(common, "ROOT_ACCESS_KEY_ID="+s.AccessKeyID, "ROOT_SECRET_ACCESS_KEY="+s.SecretAccessKey)
}
