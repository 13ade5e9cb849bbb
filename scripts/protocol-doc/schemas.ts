import * as agentApi from '@tidegate/protocol/agent-api';
import {
  ApproveAnswer,
  ApproveRequest,
  AwaitingPlanAnswer,
  CountersignAnswer,
  CountersignRequest,
  GateReport,
} from '@tidegate/protocol/approvals-api';
import { CommandResultAnswer } from '@tidegate/protocol/commands-api';
import { DecisionStatement, RecordedVerdict } from '@tidegate/protocol/decisions-api';
import * as documents from '@tidegate/protocol/documents';
import { FleetLockError, FleetLockRequest } from '@tidegate/protocol/fleet-lock';
import { Health } from '@tidegate/protocol/health-api';
import { PackageCondition } from '@tidegate/protocol/package-condition';
import * as plan from '@tidegate/protocol/plan';
import { CheckName, ProbeReport } from '@tidegate/protocol/probes';
import { Problem } from '@tidegate/protocol/problems';
import { RebootBlocker, RebootOrder, RestartOrder, UnitOutcome } from '@tidegate/protocol/reboots';
import { Repair, RepairPackage } from '@tidegate/protocol/repairs';
import { RestartReport } from '@tidegate/protocol/restarts';
import { RootPayload } from '@tidegate/protocol/root-document';
import {
  AgentVersion,
  Count,
  Ecosystem,
  HostName,
  MachineId,
  Ordinal,
  PackageName,
  PackageVersion,
  ReportedLine,
  ReportedPhrase,
  Sha256Hex,
  Sha512Hex,
  ShortText,
  strict,
  Timestamp,
  Uuid,
} from '@tidegate/protocol/scalars';
import { CommandAction, CommandStatus, UpdateState, VulnerabilityVerdict } from '@tidegate/protocol/states';
import { ReportedTag, ReportedTags } from '@tidegate/protocol/tags-api';
import { ListAges, TimelinessReport } from '@tidegate/protocol/timeliness';
import { Type } from 'typebox';
import { ExportEvent } from '../../apps/server/src/events/export-lines.ts';

/** The types that the documents refer to by name. */
export const SCALARS: Readonly<Record<string, unknown>> = {
  uuid: Uuid,
  time: Timestamp,
  hex64: Sha256Hex,
  hex128: Sha512Hex,
  count: Count,
  ordinal: Ordinal,
  text: ShortText,
  'reported line': ReportedLine,
  'reported phrase': ReportedPhrase,
  'check name': CheckName,
  hostname: HostName,
  'package name': PackageName,
  'package version': PackageVersion,
  'agent version': AgentVersion,
  'reported tag': ReportedTag,
  'machine id': MachineId,
  ecosystem: Ecosystem,
  verdict: VulnerabilityVerdict,
  'update state': UpdateState,
  'command status': CommandStatus,
  'command action': CommandAction,
};

const [firstCommand] = documents.CommandPayload.anyOf;
/** These two belong together, because each action has its own table of parameters. */
const OF_THE_ACTION = ['action', 'params'];

/** The objects with a table of their own, from the modules that agents and server share. */
export const OBJECTS: Readonly<Record<string, unknown>> = {
  ...onlyObjects(documents),
  ...onlyObjects(plan),
  ...onlyObjects(agentApi),
  PackageCondition,
  Repair,
  RepairPackage,
  RebootOrder,
  RestartOrder,
  RebootBlocker,
  UnitOutcome,
  ProbeReport,
  ReportedTags,
  RestartReport,
  TimelinessReport,
  ListAges,
  RootPayload,
  CommandPayload: { ...firstCommand, properties: commonOf(firstCommand.properties) },
  COMMAND_PARAMS: strict(documents.COMMAND_PARAMS),
  Accepted: strict({ accepted: Type.Literal(true) }),
  CommandResultAnswer,
  Health,
  Problem,
  ExportEvent: ExportEvent.properties.event,
  ApproveRequest,
  ApproveAnswer,
  AwaitingPlanAnswer,
  GateReport,
  CountersignRequest,
  CountersignAnswer,
  DecisionStatement,
  RecordedVerdict,
  FleetLockRequest,
  FleetLockError,
};

/** Each action with the members that its commands have besides `action` and `params`. */
export function commandForms(): { action: unknown; members: Readonly<Record<string, unknown>> }[] {
  return documents.CommandPayload.anyOf.map(({ properties }) => ({
    action: properties.action.const,
    members: commonOf(properties),
  }));
}

function commonOf(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([name]) => !OF_THE_ACTION.includes(name)));
}

/** The object schemas that a module exports; a test fails for a new one without a table. */
function onlyObjects(module: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(module).filter(
      ([, value]) =>
        value !== null && typeof value === 'object' && 'type' in value && value.type === 'object',
    ),
  );
}
