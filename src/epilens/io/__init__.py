"""Files: atomic writes, output folders, locks, safe reading, remote stores."""
