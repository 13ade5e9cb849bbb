import { counted } from '@tidegate/protocol/count-words';
import type { ResendRequest, Resent } from '@tidegate/protocol/notifications-api';
import { post } from '../api/client.ts';
import { queryClient } from '../api/queries.ts';
import { toast } from '../ui/toasts.tsx';
import { DELIVERIES } from './delivery-words.ts';

/** Sends dead letters again, with the ids that they had, and says how many. */
export async function resendDeliveries(asked: ResendRequest): Promise<void> {
  const { resent } = await post<Resent>(`${DELIVERIES}/resend`, asked);
  toast(`${counted(resent, 'message')} will be sent again.`);
  await queryClient.invalidateQueries({ queryKey: ['notifications'] });
}
