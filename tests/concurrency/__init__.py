"""The write channel under real processes, real threads and real locks."""
