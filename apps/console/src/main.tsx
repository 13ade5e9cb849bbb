import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { watchInputs } from './api/activity.ts';
import { queryClient } from './api/queries.ts';
import { router } from './router.tsx';
import { reportUncaught } from './shell/failures.tsx';
import './styles.css';

reportUncaught();
watchInputs(window);
const place = document.getElementById('console');
if (place) {
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
}
