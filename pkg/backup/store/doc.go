// Package store is where backups are kept: an S3 bucket, a GCS bucket, an Azure container or a directory on a volume,
// behind one narrow Bucket. What it adds to gocloud.dev/blob are the promises backups rest on: nothing is overwritten,
// an upload that fails leaves no object, memory stays bounded at any size, no key leaves the prefix, requests are never
// sent on to another host, and no error shows a secret.
package store
