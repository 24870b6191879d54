"""What every room needs: errors, files, compiled functions, debugging, worker processes."""
